#include "check/domains.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "check/words.hpp"

namespace tempo::check {

namespace {

using Verdict = Answer::Verdict;

constexpr int kBlameDepth = 8;

class Domains {
 public:
  Domains(const Graph& g, Diagnostics& diags, Prover& prover, std::vector<Bound>* bounds)
      : g_(g), diags_(diags), prover_(prover), bounds_(bounds) {}

  void run() {
    for (const Node& n : g_.nodes()) {
      disjoint(n);
      for (const Piece& p : n.pieces) {
        for (const ReadSite& s : readSites(n, p)) read(s, n.dims);
      }
    }
    for (const Effect& e : g_.effects) {
      for (const ReadSite& s : readSites(e)) read(s, e.dims);
    }
    for (const Output& o : g_.outputs) output(o);
  }

 private:
  Span spanOf(Loc l) const { return diags_.sources().span(l); }

  /// Is an index written behind the name on the left? A plain left `y = ..` takes no further pieces.
  bool isPiecewise(const Node& n) const {
    if (!n.loc.id) return true;
    Span s = spanOf(n.loc);
    const std::string& text = diags_.sources().file(s.file).text;
    size_t next = text.find_first_not_of(" \t", s.end);
    return next != std::string::npos && text[next] == '[';
  }

  /// One report per code, place and subject: inlining and reductions repeat reads.
  bool isNews(const std::string& code, Loc l, NodeId n) {
    return !l.id || reported_.insert(std::tuple(code, l.id, n.v)).second;
  }

  Answer prove(const Cond& given, const Cond& goal, const std::vector<Sym>& prefer) {
    Answer a = prover_.prove(given, goal, prefer);
    if (a.verdict != Verdict::Refuted || !bounds_) return a;
    std::vector<Bound> found = prover_.boundsFor(a, given, goal);
    for (const Bound& b : found) {
      prover_.assume(b);
      bounds_->push_back(b);
    }
    return found.empty() ? a : Answer{};
  }

  std::string sizesText(const Answer& a, const Cond& given, const Cond& goal) {
    std::vector<Sym> sizes = prover_.sizesThatMatter(a, given, goal);
    return sizes.empty() ? "" : " (" + valuesText(a.point, sizes) + ")";
  }

  void unknown(const Answer& a, Loc l, const std::string& what) {
    diags_.error("E0390", spanOf(l), "could not prove that " + what, "tried: " + a.tried);
  }

  void disjoint(const Node& n) {
    for (size_t i = 0; i < n.pieces.size(); ++i) {
      for (size_t j = i + 1; j < n.pieces.size(); ++j) overlap(n, n.pieces[i], n.pieces[j]);
    }
  }

  void overlap(const Node& n, const Piece& p, const Piece& q) {
    Answer a = prove(p.where, !q.where, n.dims);
    if (a.verdict == Verdict::Proved) return;
    std::string name = userName(g_, n);
    if (a.verdict == Verdict::Unknown) return unknown(a, q.loc, "the pieces of `" + name + "` do not overlap");
    if (!isNews("E0304", q.loc, n.id)) return;
    std::vector<int64_t> at;
    for (Sym d : n.dims) at.push_back(a.point.count(d) ? a.point.at(d) : 0);
    std::string point = pointText(name, at, at.size(), false);
    Diagnostic& d = diags_.error("E0304", spanOf(q.loc), "`" + name + "` is defined twice at one point",
                                 "this defines " + point + sizesText(a, p.where, !q.where) + " again");
    if (p.loc.id) d.secondary.push_back({spanOf(p.loc), "this defines " + point + " too"});
    d.notes.push_back("one piece covers " + domainText(p.where, n.dims) + ", the other " + domainText(q.where, n.dims));
  }

  Cond defined(const ReadPoint& p) { return p.defined(prover_.domainOf(*p.producer)); }

  std::vector<Sym> order(const ReadSite& s, const ReadPoint& p, const std::vector<Sym>& dims) const {
    std::vector<Sym> out = dims;
    out.insert(out.end(), s.inner.begin(), s.inner.end());
    out.insert(out.end(), p.gathers.begin(), p.gathers.end());
    return out;
  }

  void read(const ReadSite& s, const std::vector<Sym>& dims) {
    ReadPoint p = readPoint(g_, s);
    if (!isDefined(s, p, dims)) return;
    for (size_t k = 0; k < p.producer->axes.size(); ++k) inAxis(s, p, k, dims);
  }

  static std::string stepText(const Env& env, const std::vector<Sym>& dims) {
    std::string steps = valuesText(env, dims);
    return steps.empty() ? "" : "at " + steps + " ";
  }

  bool isDefined(const ReadSite& s, const ReadPoint& p, const std::vector<Sym>& dims) {
    Cond goal = defined(p);
    Answer a = prove(p.when, goal, order(s, p, dims));
    if (a.verdict == Verdict::Proved) return true;
    const Node& n = *p.producer;
    std::string name = userName(g_, n);
    if (a.verdict == Verdict::Unknown) {
      unknown(a, s.read->loc, "`" + name + "` is defined where it is read");
      return false;
    }
    if (!isNews("E0301", s.read->loc, n.id)) return false;
    std::string verb = p.gathers.empty() ? "this reads " : "this may read ";
    std::string label = stepText(a.point, dims) + verb + pointText(name, p.eval(prover_.complete(a.point, p.at)), n.dims.size(), false) + "; " +
                        definedText(g_, n, prover_) + sizesText(a, p.when, goal);
    Diagnostic& d =
        diags_.error("E0301", spanOf(s.read->loc), "`" + name + "` is read where nothing defines it", label);
    Loc definition = n.pieces.empty() || n.loc.id ? n.loc : n.pieces[0].loc;
    if (definition.id) d.secondary.push_back({spanOf(definition), "`" + name + "` is defined here"});
    if (definition.id && !isPiecewise(n)) {
      Env there = prover_.complete(a.point, p.at);
      std::vector<int64_t> at = p.eval(there);
      for (size_t k = 0; k < n.dims.size(); ++k) there[n.dims[k]] = at[k];
      if (auto why = blame(n, there, kBlameDepth)) d.secondary.push_back(*why);
    }
    std::string fix = fixFor(g_, p, a, dims, prover_, isPiecewise(n));
    if (!fix.empty()) d.fixes.push_back({fix, {}});
    return false;
  }

  void inAxis(const ReadSite& s, const ReadPoint& p, size_t k, const std::vector<Sym>& dims) {
    Cond goal = p.inAxis(k);
    Answer a = prove(p.when, goal, order(s, p, dims));
    if (a.verdict == Verdict::Proved) return;
    const Node& n = *p.producer;
    std::string name = userName(g_, n), axis = "axis " + std::to_string(k) + " of `" + name + "`";
    if (a.verdict == Verdict::Unknown) return unknown(a, s.read->loc, "the index is inside " + axis);
    if (!isNews("E0404", s.read->loc, n.id)) return;
    std::vector<int64_t> at = p.eval(prover_.complete(a.point, p.at));
    Ix length = n.axes[k].length;
    Env here = a.point;
    for (size_t i = 0; i < n.dims.size(); ++i) here[n.dims[i]] = at[i];
    here = prover_.complete(here, {length});
    std::string bound = std::to_string(length.eval(here));
    if (!length.asConst()) bound = length.str() + " = " + bound;
    std::string verb = p.gathers.empty() ? "this reads " : "this may read ";
    std::string label = stepText(a.point, dims) + verb + pointText(name, at, n.dims.size(), true) + "; index " +
                        std::to_string(at[n.dims.size() + k]) + " is outside axis " + std::to_string(k) + " of length " + bound;
    Diagnostic& d = diags_.error("E0404", spanOf(s.read->loc), "an index is outside " + axis, label);
    if (n.loc.id) d.secondary.push_back({spanOf(n.loc), "`" + name + "` is defined here"});
  }

  void output(const Output& o) {
    const Node& n = g_.at(o.node);
    ReadPoint p{&n, {}, {}, Cond()};
    std::vector<Sym> vars;
    for (const RVar& r : o.box) {
      p.when = p.when && Cond::range(Ix(r.var), r.lo, r.hi);
      p.at.emplace_back(r.var);
      vars.push_back(r.var);
    }
    Cond goal = defined(p);
    Answer a = prove(p.when, goal, vars);
    if (a.verdict == Verdict::Proved) return;
    if (a.verdict == Verdict::Unknown) return unknown(a, o.loc, "all of the output `" + o.name + "` is defined");
    if (!isNews("E0305", o.loc, n.id)) return;
    for (Sym v : vars) a.point.try_emplace(v, 0);
    Diagnostic& d = diags_.error("E0305", spanOf(o.loc), "the output `" + o.name + "` has a hole",
                                 "this writes " + pointText(o.name, p.eval(prover_.complete(a.point, p.at)), n.dims.size(), false) + "; " +
                                     definedText(g_, n, prover_) + sizesText(a, p.when, goal));
    if (n.loc.id) d.secondary.push_back({spanOf(n.loc), "`" + o.name + "` is defined here"});
    if (auto why = blame(n, prover_.complete(a.point, p.at), kBlameDepth)) d.secondary.push_back(*why);
    std::string fix = fixFor(g_, p, a, vars, prover_, isPiecewise(n));
    if (!fix.empty()) d.fixes.push_back({fix, {}});
  }

  /// A tensor exists where all it reads does: the read that keeps `n` from existing at the point in `env`.
  std::optional<Label> blame(const Node& n, const Env& env, int depth) {
    if (depth == 0) return std::nullopt;
    Cond here;
    for (const auto& [v, x] : env) {
      if (prover_.isSize(v) || std::find(n.dims.begin(), n.dims.end(), v) != n.dims.end()) here = here && Cond::eq(Ix(v), Ix(x));
    }
    for (const Piece& piece : n.pieces) {
      Piece anywhere = piece;
      anywhere.where = Cond();
      for (const ReadSite& s : readSites(n, anywhere)) {
        ReadPoint p = readPoint(g_, s);
        Answer a = prover_.prove(p.when && here, defined(p), n.dims);
        if (a.verdict != Verdict::Refuted) continue;
        std::vector<int64_t> at = p.eval(prover_.complete(a.point, p.at));
        Env there = env;
        for (size_t k = 0; k < p.producer->dims.size(); ++k) there[p.producer->dims[k]] = at[k];
        if (auto deeper = blame(*p.producer, there, depth - 1)) return deeper;
        if (!s.read->loc.id) return std::nullopt;
        std::string text = "this reads " + pointText(userName(g_, *p.producer), at, p.producer->dims.size(), false) + "; " +
                           definedText(g_, *p.producer, prover_);
        return Label{spanOf(s.read->loc), text + sizesText(a, p.when, defined(p))};
      }
    }
    return std::nullopt;
  }

  const Graph& g_;
  Diagnostics& diags_;
  Prover& prover_;
  std::vector<Bound>* bounds_;
  std::set<std::tuple<std::string, uint32_t, uint32_t>> reported_;
};

}  // namespace

void checkDomains(const Graph& g, Diagnostics& diags, Prover& prover, std::vector<Bound>* bounds) {
  Domains(g, diags, prover, bounds).run();
}

}  // namespace tempo::check
