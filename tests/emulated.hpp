// Runs a loaded program through its CUDA text in the emulator: the same Kernel IR and buffers as the driver's engines use.
#pragma once

#include <map>
#include <string>

#include "cuda_emulation/emulate.hpp"
#include "driver/driver.hpp"
#include "driver/layout.hpp"

namespace tempo::test {

inline RunResult runEmulated(Program& program, const RunOptions& run, const emulation::Options& options = {}) {
  RunResult out;
  auto fail = [&](const std::string& why) {
    out.failure = Failure{Failure::Kind::Run, why, "", ""};
    return out;
  };
  auto prepared = program.prepared(run);
  if (!prepared) return fail(prepared.failure().message);
  const Lowered& lowered = *prepared->lowered;
  const BufferPlan plan = planBuffers(lowered, program.graph(), prepared->sizes);
  std::map<std::string, int64_t> sizes;
  for (const auto& [s, v] : prepared->sizes) sizes[s.name()] = v;
  std::map<std::string, emulation::Bytes> inputs;
  for (const ArrayMap& m : lowered.inputs) {
    emulation::Bytes b(size_t(plan.bytes[size_t(m.buffer)]));
    pack(placeOf(m, prepared->sizes), m.dtype, prepared->inputs.at(m.name).data.get(), b.data());
    inputs[lowered.program.buffers[size_t(m.buffer)].name] = std::move(b);
  }
  try {
    emulation::Emulator emulator;
    emulator.options = options;
    emulator.compile(lowered.program);
    const emulation::RunResult r = emulator.run(sizes, inputs, run.seed);
    if (r.fault.site >= 0) return fail("fault at site " + std::to_string(r.fault.site));
    for (const ArrayMap& m : lowered.outputs) {
      const ArrayPlace place = placeOf(m, prepared->sizes);
      Array a = Array::zeros(m.dtype, place.shape);
      unpack(place, m.dtype, r.buffers.at(lowered.program.buffers[size_t(m.buffer)].name).data(), a.data.get());
      out.outputs.push_back({m.name, a, m.path});
    }
  } catch (const emulation::EmulationError& e) {
    return fail(e.what());
  }
  return out;
}

}  // namespace tempo::test
