#include "check/read_point.hpp"

namespace tempo::check {

ReadPoint readPoint(const Graph& g, const ReadSite& site) {
  ReadPoint out{&g.at(site.read->node), {}, {}, site.when};
  for (const Index& i : site.read->indices) {
    if (!i.data) {
      out.at.push_back(i.ix);
      continue;
    }
    Sym v = Sym::get("gather." + std::to_string(out.gathers.size()));
    out.gathers.push_back(v);
    out.when = out.when && Cond::range(Ix(v), i.lo, i.hi);
    out.at.emplace_back(v);
  }
  return out;
}

Subst ReadPoint::dims() const {
  Subst out;
  for (size_t k = 0; k < producer->dims.size(); ++k) out[producer->dims[k]] = at[k];
  return out;
}

Cond ReadPoint::inAxis(size_t k) const {
  return Cond::range(at[producer->dims.size() + k], Ix(0), producer->axes[k].length.subst(dims()));
}

std::vector<int64_t> ReadPoint::eval(const Env& env) const {
  std::vector<int64_t> out;
  for (const Ix& x : at) out.push_back(x.eval(env));
  return out;
}

}  // namespace tempo::check
