// A program that applies every op to every type, and values that find its corners.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "cuda/common.hpp"
#include "kernel/kir.hpp"
#include "sdg/ops.hpp"

namespace tempo::cudatest {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

inline std::vector<double> samples(DType t) {
  switch (t) {
    case DType::F64:
    case DType::F32:
    case DType::BF16:
    case DType::F16: return {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 7.0, -7.0, kInf, -kInf, kNan};
    case DType::I64:
    case DType::I32: return {0, 1, -1, 2, -2, 7, -7, 100, -128, 2147483647.0, -2147483648.0, 3};
    case DType::I8: return {0, 1, -1, 2, -2, 7, -7, 100, -128, 127, 5, 3};
    case DType::U8: return {0, 1, 2, 3, 7, 100, 128, 200, 255, 254, 5, 9};
    case DType::Bool: return {0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
  }
  return {};
}

/// Numbers in the memory format of `t`, for types with a C++ counterpart.
template <class T>
Bytes packAs(const std::vector<double>& v) {
  std::vector<T> out;
  for (double d : v) out.push_back(static_cast<T>(d));
  return toBytes(out);
}
inline Bytes pack(DType t, const std::vector<double>& v) {
  switch (t) {
    case DType::F64: return packAs<double>(v);
    case DType::F32: return packAs<float>(v);
    case DType::I64: return packAs<int64_t>(v);
    case DType::I32: return packAs<int32_t>(v);
    case DType::I8: return packAs<int8_t>(v);
    case DType::U8:
    case DType::Bool: return packAs<uint8_t>(v);
    default: return {};
  }
}
template <class T>
std::vector<double> unpackAs(const Bytes& b) {
  std::vector<double> out;
  for (T v : fromBytes<T>(b)) out.push_back(static_cast<double>(v));
  return out;
}
inline std::vector<double> unpack(DType t, const Bytes& b) {
  switch (t) {
    case DType::F64: return unpackAs<double>(b);
    case DType::F32: return unpackAs<float>(b);
    case DType::I64: return unpackAs<int64_t>(b);
    case DType::I32: return unpackAs<int32_t>(b);
    case DType::I8: return unpackAs<int8_t>(b);
    default: return unpackAs<uint8_t>(b);
  }
}

inline kir::StmtPtr stmt(kir::Stmt s) { return std::make_shared<kir::Stmt>(std::move(s)); }

inline kir::StmtPtr store(const std::string& buffer, kir::ExprPtr index, kir::ExprPtr value) {
  kir::Stmt s{};
  s.kind = kir::Stmt::Kind::Store;
  s.name = buffer;
  s.index = std::move(index);
  s.value = std::move(value);
  return stmt(std::move(s));
}

inline kir::StmtPtr par(const std::string& v, int64_t n, kir::Block body) {
  kir::Stmt s{};
  s.kind = kir::Stmt::Kind::Par;
  s.loop = {v, kir::ci(0), kir::ci(n), false};
  s.body = std::move(body);
  return stmt(std::move(s));
}

/// A program of one-kernel-per-type over input buffers `a_<type>`, `b_<type>` of `n` elements.
struct Builder {
  kir::Program program;
  std::map<std::string, Bytes> inputs;

  void buffer(const std::string& name, DType t, int64_t n, kir::HostBuffer::Role role) {
    kir::HostBuffer b{};
    b.name = name;
    b.dtype = t;
    b.count = kir::ci(n);
    b.role = role;
    program.buffers.push_back(b);
  }
  kir::Kernel& kernel(const std::string& name) {
    program.kernels.emplace_back();
    program.kernels.back().name = name;
    kir::HostStmt launch{};
    launch.kind = kir::HostStmt::Kind::Launch;
    launch.kernel = static_cast<int>(program.kernels.size()) - 1;
    program.host.push_back(launch);
    return program.kernels.back();
  }
};

struct Case {
  Op op;
  DType type;
  std::string out;
};

/// Every pair of samples, op by op.
inline std::vector<Case> buildOps(Builder& b) {
  std::vector<Case> cases;
  for (int ti = 0; ti < kDTypeCount; ++ti) {
    const DType t = static_cast<DType>(ti);
    if (t == DType::BF16 || t == DType::F16) continue;
    const std::string tn = name(t);
    const auto s = samples(t);
    const auto n = static_cast<int64_t>(s.size());
    std::vector<double> left, right;
    for (double x : s) {
      for (double y : s) left.push_back(x), right.push_back(y);
    }
    b.buffer("a_" + tn, t, n * n, kir::HostBuffer::Role::Input);
    b.buffer("b_" + tn, t, n * n, kir::HostBuffer::Role::Input);
    b.inputs["a_" + tn] = pack(t, left);
    b.inputs["b_" + tn] = pack(t, right);
    kir::Kernel& k = b.kernel("ops_" + tn);
    k.buffers = {{"a_" + tn, t, false}, {"b_" + tn, t, false}};
    kir::Block body;
    const kir::ExprPtr i = kir::var("i"), x = kir::load("a_" + tn, t, i), y = kir::load("b_" + tn, t, i);
    for (int oi = 0; oi < kOpCount; ++oi) {
      const Op o = static_cast<Op>(oi);
      if (!accepts(o, t)) continue;
      const std::string out = "o_" + tn + "_" + std::to_string(oi);
      b.buffer(out, resultType(o, t), n * n, kir::HostBuffer::Role::Output);
      b.program.kernels.back().buffers.push_back({out, resultType(o, t), true});
      body.push_back(store(out, i, info(o).arity == 1 ? kir::op(o, {x}) : kir::op(o, {x, y})));
      cases.push_back({o, t, out});
    }
    b.program.kernels.back().body = {par("i", n * n, body)};
  }
  return cases;
}

}  // namespace tempo::cudatest
