#include "driver/image_codec.hpp"

#include <cstring>

namespace tempo {

void ImageWriter::number(int64_t v) {
  // Zigzag, seven bits a byte: most numbers are small.
  uint64_t u = static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63);
  for (; u >= 0x80; u >>= 7) out_ += static_cast<char>(u | 0x80);
  out_ += static_cast<char>(u);
}

void ImageWriter::text(const std::string& s) {
  number(static_cast<int64_t>(s.size()));
  out_ += s;
}

void ImageWriter::real(double v) {
  char raw[sizeof v];
  std::memcpy(raw, &v, sizeof v);
  out_.append(raw, sizeof v);
}

void ImageWriter::ix(const Ix& e) {
  number(static_cast<int64_t>(e.kind()));
  switch (e.kind()) {
    case Ix::Kind::Var: return text(e.asVar()->name());
    case Ix::Kind::Linear:
      number(e.constant());
      return list(e.terms(), [&](const auto& term) {
        number(term.first);
        ix(term.second);
      });
    case Ix::Kind::Select: cond(e.cond()); [[fallthrough]];
    default: return list(e.args(), [&](const Ix& a) { ix(a); });
  }
}

void ImageWriter::cond(const Cond& c) {
  number(static_cast<int64_t>(c.kind()));
  switch (c.kind()) {
    case Cond::Kind::True:
    case Cond::Kind::False: return;
    case Cond::Kind::Ge0:
    case Cond::Kind::Eq0: return ix(c.ix());
    default: return list(c.args(), [&](const Cond& a) { cond(a); });
  }
}

int64_t ImageReader::number() {
  uint64_t u = 0;
  for (int shift = 0;; shift += 7) {
    if (at_ >= in_.size() || shift > 63) throw ImageError("number");
    const auto byte = static_cast<unsigned char>(in_[at_++]);
    u |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return static_cast<int64_t>(u >> 1) ^ -static_cast<int64_t>(u & 1);
}

int64_t ImageReader::count() {
  const int64_t n = number();
  if (n < 0 || static_cast<uint64_t>(n) > in_.size() - at_) throw ImageError("count");
  return n;
}

std::string ImageReader::text() {
  const auto n = static_cast<size_t>(count());
  at_ += n;
  return in_.substr(at_ - n, n);
}

double ImageReader::real() {
  double v = 0;
  if (in_.size() - at_ < sizeof v) throw ImageError("real");
  std::memcpy(&v, in_.data() + at_, sizeof v);
  at_ += sizeof v;
  return v;
}

Ix ImageReader::ix() {
  const auto kind = static_cast<Ix::Kind>(number());
  if (kind == Ix::Kind::Var) return Ix(Sym::get(text()));
  if (kind == Ix::Kind::Linear) {
    Ix sum(number());
    list([&] {
      const int64_t factor = number();
      sum = sum + Ix(factor) * ix();
    });
    return sum;
  }
  const Cond which = kind == Ix::Kind::Select ? cond() : Cond();
  std::vector<Ix> args;
  list([&] { args.push_back(ix()); });
  if (args.size() < 2) throw ImageError("operands");
  if (kind == Ix::Kind::Select) return Ix::select(which, args[0], args[1]);
  Ix folded = args[0];
  for (size_t i = 1; i < args.size(); ++i) {
    switch (kind) {
      case Ix::Kind::Product: folded = folded * args[i]; break;
      case Ix::Kind::FloorDiv: folded = Ix::floordiv(folded, args[i]); break;
      case Ix::Kind::Mod: folded = Ix::mod(folded, args[i]); break;
      case Ix::Kind::Min: folded = Ix::min(folded, args[i]); break;
      case Ix::Kind::Max: folded = Ix::max(folded, args[i]); break;
      default: throw ImageError("kind");
    }
  }
  return folded;
}

Cond ImageReader::cond() {
  const auto kind = static_cast<Cond::Kind>(number());
  switch (kind) {
    case Cond::Kind::True: return Cond::truth(true);
    case Cond::Kind::False: return Cond::truth(false);
    case Cond::Kind::Ge0: return Cond::ge0(ix());
    case Cond::Kind::Eq0: return Cond::eq0(ix());
    default: break;
  }
  std::vector<Cond> args;
  list([&] { args.push_back(cond()); });
  if (args.empty()) throw ImageError("operands");
  if (kind == Cond::Kind::Not) return !args[0];
  Cond folded = args[0];
  for (size_t i = 1; i < args.size(); ++i) folded = kind == Cond::Kind::And ? folded && args[i] : folded || args[i];
  return folded;
}

}  // namespace tempo
