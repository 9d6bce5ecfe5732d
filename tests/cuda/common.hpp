// What the tests of jit/cuda share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cuda_emulation/emulate.hpp"
#include "kernel/kir.hpp"

namespace tempo::cudatest {

using emulation::Bytes;
using emulation::Emulator;
using emulation::fromBytes;
using emulation::Order;
using emulation::toBytes;

inline kir::Program parse(const std::string& text) {
  kir::Program p = kir::parseProgram(text);
  kir::verify(p);
  return p;
}

/// Runs `f` with every thread order, with as many blocks as instances and with two that stride.
inline void everyWay(Emulator& e, const std::function<void()>& f) {
  for (Order o : {Order::Forward, Order::Reversed, Order::Shuffled}) {
    for (int64_t blocks : {0, 2}) {
      e.options.order = o;
      e.options.maxBlocks = blocks;
      e.options.orderSeed = 7;
      f();
    }
  }
}

}  // namespace tempo::cudatest
