#include "driver/plan_report.hpp"

#include <algorithm>
#include <sstream>

#include "driver/bind.hpp"

namespace tempo {
namespace {

/// Bytes of what a node keeps, as an expression of the sizes.
Ix keptBytes(const Node& n, const Store& s) { return s.elements() * Ix(bytes(n.dtype)); }

struct Kept {
  const Node* node;
  const Store* store;
};

std::vector<Kept> keptNodes(const Plan& p) {
  std::vector<Kept> all;
  for (const Node& n : p.graph.nodes()) {
    const Store& s = p.stores[n.id.v];
    if (s.cls != Store::Class::None) all.push_back({&n, &s});
  }
  return all;
}

std::string dimsKept(const Node& n, const Store& s) {
  std::string text;
  for (size_t i = 0; i < s.dims.size() && i < n.dims.size(); ++i) {
    const DimStore& d = s.dims[i];
    std::string one = n.dims[i].name() + ": ";
    switch (d.kind) {
      case DimStore::Kind::Full: one += "all " + d.extent.str(); break;
      case DimStore::Kind::Ring: one += "last " + d.extent.str(); break;
      case DimStore::Kind::Point: one += "one"; break;
    }
    text += (text.empty() ? "" : ", ") + one;
  }
  return text;
}

/// What the run allocates: everything but inputs and what stays inside a kernel.
Ix totalBytes(const Plan& p) {
  Ix total(0);
  for (const Kept& k : keptNodes(p)) {
    const bool allocated = k.store->cls != Store::Class::Input && k.store->cls != Store::Class::Local &&
                           k.store->cls != Store::Class::Recomputed;
    if (allocated) total = total + keptBytes(*k.node, *k.store);
  }
  // Values on their way to a report, print or assert.
  for (size_t e = 0; e < p.graph.effects.size(); ++e) {
    const Effect& effect = p.graph.effects[e];
    if (effect.condition) total = total + Ix(1);
    for (size_t v = 0; v < effect.values.size(); ++v) {
      total = total + p.effectElements[e][v] * Ix(bytes(effect.values[v].second->dtype));
    }
  }
  return total;
}

std::string specialisedText(const Graph& g) {
  std::string text;
  for (const Size& s : g.sizes) {
    if (s.specialised) text += (text.empty() ? "" : ", ") + s.sym.name();
  }
  return text;
}

std::string textReport(const Plan& p, const Lowered& lowered) {
  std::ostringstream out;
  out << "order\n" << printTree(p.graph, p.root);
  out << "\nstores\n";
  size_t width = 6;
  for (const Kept& k : keptNodes(p)) width = std::max(width, k.node->name.size());
  for (const Kept& k : keptNodes(p)) {
    const std::string dims = dimsKept(*k.node, *k.store);
    out << "  " << k.node->name << std::string(width - k.node->name.size(), ' ') << "  " << name(k.store->cls) << "  "
        << typeText(*k.node) << (dims.empty() ? "" : "  (" + dims + ")") << "  " << keptBytes(*k.node, *k.store).str()
        << " bytes\n";
  }
  out << "\nmemory\n  " << totalBytes(p).str() << " bytes besides the inputs\n";
  out << "\nkernels\n  " << lowered.program.kernels.size() << "\n";
  const std::string specialised = specialisedText(p.graph);
  out << "\nsizes\n  "
      << (specialised.empty() ? "all symbolic: one compilation serves every value"
                              : "compiled per value of: " + specialised)
      << "\n";
  if (!p.log.empty()) out << "\ndecisions\n";
  for (const Decision& d : p.log) out << "  " << d.pass << " " << d.subject << ": " << d.text << "\n";
  return out.str();
}

std::string jsonReport(const Plan& p, const Lowered& lowered) {
  std::ostringstream out;
  out << "{\"order\": " << jsonString(printTree(p.graph, p.root)) << ", \"stores\": [";
  const char* comma = "";
  for (const Kept& k : keptNodes(p)) {
    out << comma << "{\"tensor\": " << jsonString(k.node->name) << ", \"type\": " << jsonString(typeText(*k.node))
        << ", \"kept\": " << jsonString(name(k.store->cls)) << ", \"dims\": " << jsonString(dimsKept(*k.node, *k.store))
        << ", \"bytes\": " << jsonString(keptBytes(*k.node, *k.store).str()) << "}";
    comma = ", ";
  }
  out << "], \"bytes\": " << jsonString(totalBytes(p).str()) << ", \"kernels\": [";
  comma = "";
  for (const auto& k : lowered.program.kernels) {
    out << comma << jsonString(k.name);
    comma = ", ";
  }
  out << "], \"specialised\": [";
  comma = "";
  for (const Size& s : p.graph.sizes) {
    if (!s.specialised) continue;
    out << comma << jsonString(s.sym.name());
    comma = ", ";
  }
  out << "], \"decisions\": [";
  comma = "";
  for (const Decision& d : p.log) {
    out << comma << "{\"pass\": " << jsonString(d.pass) << ", \"subject\": " << jsonString(d.subject)
        << ", \"text\": " << jsonString(d.text) << "}";
    comma = ", ";
  }
  out << "]}\n";
  return out.str();
}

/// The comment lines above the statement that declares `name`; those above the first statement belong to the file.
std::string docOf(const ast::File& file, const std::string& name) {
  for (const auto& s : file.stmts) {
    if (s == file.stmts.front()) continue;
    for (const auto& d : s->dims) {
      if (d.size.text == name) return s->doc;
    }
    for (const auto& d : s->sizeDecls) {
      if (d.name.text == name) return s->doc;
    }
  }
  return "";
}

std::string valueText(DType dtype, double v) {
  if (dtype == DType::Bool) return v != 0 ? "true" : "false";
  return formatNumber(v);
}

}  // namespace

std::string jsonString(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          char text[8];
          std::snprintf(text, sizeof text, "\\u%04x", c);
          out += text;
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

Signature signatureOf(const ast::File& file, const Sources&, const Graph& g) {
  Signature sig;
  if (!file.stmts.empty()) sig.description = file.stmts.front()->doc;
  for (const Size& s : g.sizes) {
    sig.sizes.push_back({s.sym.name(), s.value ? s.value->str() : "", docOf(file, s.sym.name()), !s.derived, s.specialised});
  }
  for (const Option& o : g.options) {
    sig.options.push_back({o.name.name(), name(o.dtype), valueText(o.dtype, o.value), o.help});
  }
  for (const InputDecl& i : g.inputs) {
    const Node& n = g.at(i.node);
    sig.inputs.push_back({n.name, typeText(n), i.path + (i.member.empty() ? "" : ":" + i.member)});
  }
  for (const Output& o : g.outputs) sig.outputs.push_back({o.name, typeText(g.at(o.node)), o.path});
  return sig;
}

std::string reportPlan(const Plan& plan, const Lowered& lowered, const Sources&, bool json) {
  return json ? jsonReport(plan, lowered) : textReport(plan, lowered);
}

}  // namespace tempo
