#include "sdg/graph.hpp"

#include "check.hpp"

namespace tempo {

NodeId Graph::add(Node n) {
  n.id = NodeId{uint32_t(nodes_.size())};
  nodes_.push_back(std::move(n));
  return nodes_.back().id;
}

Node& Graph::at(NodeId id) {
  TEMPO_CHECK(id.v < nodes_.size(), "no node " + std::to_string(id.v));
  return nodes_[id.v];
}

const Node& Graph::at(NodeId id) const {
  TEMPO_CHECK(id.v < nodes_.size(), "no node " + std::to_string(id.v));
  return nodes_[id.v];
}

const Node* Graph::find(std::string_view name) const {
  for (const Node& n : nodes_) {
    if (n.name == name && !n.pieces.empty()) return &n;
  }
  return nullptr;
}

Cond Graph::context() const {
  Cond c;
  for (const Cond& f : facts) c = c && f;
  return c;
}

Sym Graph::sizeOf(Sym dim) const {
  for (const Dim& d : dims) {
    if (d.var == dim) return d.size;
  }
  TEMPO_CHECK(false, "no dim `" + dim.name() + "`");
  return {};
}

void forEachRead(const Node& n, const std::function<void(const Piece&, const Expr& read)>& f) {
  for (const Piece& p : n.pieces) {
    auto onRead = [&](const Expr& e) {
      if (e.kind == Expr::Kind::Read) f(p, e);
    };
    ex::visit(p.body.init, onRead);
    ex::visit(p.body.value, onRead);
  }
}

}  // namespace tempo
