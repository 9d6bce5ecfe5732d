// Kernel IR: loop nests over buffers, one step above LLVM IR and CUDA C++. Both printers walk this and nothing else.
//
// A *kernel* runs `instances` independent instances (its grid: a box of parallel dims, flattened in order). Each instance
// executes `body` in order. Inside, `For` loops come in kinds:
//   Seq  in order, uniform over the instance
//   Par  iterations independent: the CPU prints a loop LLVM may vectorise; CUDA spreads the flattened nest of directly
//        nested Par loops over the block's threads, with a barrier after the outermost one
// Stores to buffers happen only inside Par nests (a Par nest of one iteration is fine) or, outside any, by thread 0.
// `Reduce` runs loops that fold into accumulators; outside a Par nest CUDA makes it a block-wide reduction (shared memory
// tree in a fixed order), inside one it is a loop of one thread. Accumulator names are visible after it.
// `scratch` buffers are private to an instance (CPU: a slice of the worker's arena; CUDA: shared memory when the bytes are
// a small constant, else a slice of global scratch per block).
// All integers are i64 and wrap-free; `//` and `%` floor. Floating point is in the stated dtype with no contraction and no
// reassociation, except that a Reduce may be reassociated by the printer in a way that depends on sizes and target alone.
// bf16 and f16 values are loaded and stored only; arithmetic on them is f32 (lowering inserts the casts).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sdg/dtype.hpp"
#include "sdg/graph.hpp"
#include "sdg/ops.hpp"

namespace tempo::kir {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  enum class Kind : uint8_t {
    ConstF, ConstI,  // f / i, of type dtype (Bool: i)
    Var,             // name: loop variable, parameter (i64), Let or accumulator (its dtype)
    Op,              // op on args of one dtype (index arithmetic is Op on i64)
    Select,          // args: bool, a, b; may evaluate both
    Cond,            // args: bool, a, b; evaluates one only (loads may be out of bounds in the other)
    Cast,            // args[0] to dtype (saturating float to int; NaN to 0)
    Load,            // buffer[args[0]], element index
    Random,          // philox word of (seed parameter, stream `i`, args as the point): i64 in 0 .. 2^32-1
  };
  Kind kind;
  DType dtype;
  double f = 0;
  int64_t i = 0;
  std::string name;  // Var, Load
  tempo::Op op = tempo::Op::Add;
  std::vector<ExprPtr> args;
};

struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;
using Block = std::vector<StmtPtr>;

struct Loop {
  std::string var;
  ExprPtr lo, hi;    // half open, step +1
  bool reverse = false;  // Seq only: hi-1 down to lo
};

struct Acc {
  std::string name;
  tempo::Reduce op;
  DType dtype;       // of the accumulator; ArgMax/ArgMin: dtype of the compared value, position (i64, counted from the loop's lo) in name, best value in name + "_v"
  ExprPtr value;     // folded in each iteration
};

struct Stmt {
  enum class Kind : uint8_t {
    Seq, Par,        // loop; body
    If,              // cond; body; orelse
    Let,             // name = value
    Store,           // buffer `name`[index] = value
    Reduce,          // loops (a nest; inner bounds may use outer variables); accs; body: Lets and Checks done per iteration before the values
    Check,           // cond must hold, else the run stops with fault `site`; args: values reported
    Poll,            // stop flag: leave the kernel here if set (state is whole)
    Call,            // library call (`name`, args); reserved for GEMM
  };
  Kind kind;
  Loop loop;
  std::vector<Loop> loops;
  std::vector<Acc> accs;
  ExprPtr cond, value, index;
  std::string name;
  DType dtype = DType::I64;  // Let
  std::vector<ExprPtr> args;
  int64_t site = 0;
  Block body, orelse;
};

struct Buffer {
  std::string name;
  DType dtype;
  bool written = false;
};

struct Scratch {
  std::string name;
  DType dtype;
  ExprPtr count;       // elements, over params
};

struct Kernel {
  std::string name;                  // a C identifier, formed from the program's names
  std::vector<std::string> params;   // i64: sizes, host loop variables
  std::vector<Buffer> buffers;       // pointers, none aliases another unless both are read only
  std::vector<Scratch> scratch;
  std::vector<Loop> grid;            // instances; bounds over params only
  Block body;
};

/// The host loop: sequential control around kernel launches.
struct HostStmt {
  enum class Kind : uint8_t {
    For,      // loop (Seq); body
    If,       // cond; body; orelse
    Let,      // name = value (i64)
    Launch,   // kernel index; args in the order of its params
    Effect,   // effect index; args: values of its dims
    Progress, // a step of the outermost loop has been done: args[0] done, args[1] total
  };
  Kind kind;
  Loop loop;
  ExprPtr cond, value;
  std::string name;
  int kernel = -1;
  int effect = -1;
  std::vector<ExprPtr> args;
  std::vector<HostStmt> body, orelse;
};

struct HostBuffer {
  std::string name;
  DType dtype;
  ExprPtr count;         // elements, over the program's sizes
  enum class Role : uint8_t { Input, Output, Temp } role = Role::Temp;
  bool zeroed = false;
};

struct Program {
  std::vector<std::string> sizes;    // i64 parameters of the whole program, in order; every size symbol
  std::vector<HostBuffer> buffers;   // kernels name these
  std::vector<Kernel> kernels;
  std::vector<HostStmt> host;
};

// Builders that fold constants.
ExprPtr ci(int64_t v);
ExprPtr cf(DType t, double v);
ExprPtr var(std::string name, DType t = DType::I64);
ExprPtr op(tempo::Op o, std::vector<ExprPtr> args);
ExprPtr load(std::string buffer, DType t, ExprPtr index);
ExprPtr cast(DType t, ExprPtr a);
ExprPtr select(ExprPtr c, ExprPtr a, ExprPtr b);
ExprPtr condExpr(ExprPtr c, ExprPtr a, ExprPtr b);
ExprPtr fromIx(const Ix& ix);        // variables keep their names
ExprPtr fromCond(const Cond& c);

/// Text form, and back. parseProgram(print(p)) prints the same.
std::string print(const Program& p);
std::string print(const Kernel& k);
Program parseProgram(const std::string& text);
/// Throws InternalError: unknown names, type mismatches, stores outside Par nests where threads would race by construction.
void verify(const Program& p);

}  // namespace tempo::kir
