// Kernel IR that the tests and the check on a GPU share.
#pragma once

namespace tempo::cudatest {

// A recurrence inside a kernel: h[t] of width D from h[t-1], a uniform value read by all threads and then overwritten, a
// triangular nest, shared and global scratch, both branches of an if, a reversed loop.
inline const char* const kEverything = R"(sizes T, D
buffer x: f32[T * D] input
buffer h: f32[(T + 1) * D] output
buffer total: f32[2] output
buffer tri: i64[T * T] output zeroed
buffer back: i64[T] output
kernel rnn(T, D) {
  buffer x: f32
  buffer h: f32 written
  buffer total: f32 written
  scratch tmp: f32[64]
  scratch big: f32[D * 2]
  grid() {
    par d in 0 .. D {
      h[d] = 0:f32
    }
    total[0] = 0:f32
    total[1] = 1:f32
    for t in 0 .. T {
      let before: f32 = total[0]
      par d in 0 .. D {
        big[d] = x[(t * D) + d] + h[(t * D) + d]
        big[d + D] = before
      }
      par d in 0 .. D {
        h[((t + 1) * D) + d] = big[(D - 1) - d] + big[d + D]
      }
      reduce d in 0 .. D {
        let v: f32 = h[((t + 1) * D) + d]
        sum s: f32 = v
      }
      if (t % 2) == 0 {
        par k in 0 .. 64 {
          tmp[k] = s
        }
        total[0] = tmp[63] + before
      } else {
        total[0] = before - 1:f32
      }
      poll
    }
  }
}
kernel triangle(T) {
  buffer tri: i64 written
  grid() {
    par i in 0 .. T {
      par j in 0 .. i + 1 {
        tri[(i * T) + j] = (i * 100) + j
      }
    }
  }
}
kernel backwards(T) {
  buffer back: i64 written
  grid(k in 0 .. 1) {
    for t in 0 .. T reverse {
      if t == (T - 1) {
        back[t] = 1
      } else {
        back[t] = (back[t + 1] * 2) + k
      }
    }
  }
}
host {
  launch rnn(T, D)
  launch triangle(T)
  if T >= 1 {
    launch backwards(T)
  } else {
  }
}
)";

// The same reductions block-wide (outside par) and per thread (inside).
inline const char* const kReductions = R"(sizes N, M
buffer x: f32[N] input
buffer k: i64[N] input
buffer f: f32[M * 6] output
buffer n: i64[M * 6] output
buffer g: bool[M * 2] output
kernel all(N, M) {
  buffer x: f32
  buffer k: i64
  buffer f: f32 written
  buffer n: i64 written
  buffer g: bool written
  grid(m in 0 .. M) {
    reduce i in 0 .. N {
      sum s: f32 = x[i]
      prod p: i64 = (k[i] % 3) + 1
      max hi: f32 = x[i]
      min lo: i64 = k[i]
      all every: bool = x[i] > -1000:f32
      any some: bool = x[i] > 1000:f32
      argmax at: f32 = x[i]
      argmin low: i64 = k[i]
    }
    f[m * 6] = s
    f[(m * 6) + 1] = hi
    f[(m * 6) + 2] = at_v
    n[m * 6] = p
    n[(m * 6) + 1] = lo
    n[(m * 6) + 2] = at
    g[m * 2] = every
    par one in 0 .. 1 {
      reduce i in 0 .. N {
        sum s2: f32 = x[i]
        max hi2: f32 = x[i]
        argmax at2: f32 = x[i]
        argmin low2: i64 = k[i]
        any some2: bool = x[i] > 1000:f32
      }
      f[(m * 6) + 3] = s2
      f[(m * 6) + 4] = hi2
      f[(m * 6) + 5] = at2_v
      n[(m * 6) + 3] = at2
      n[(m * 6) + 4] = low2
      n[(m * 6) + 5] = low
      g[(m * 2) + 1] = or(some2, some)
    }
  }
}
host {
  launch all(N, M)
}
)";

// Random words at points of rank 0 to 7.
inline const char* const kRandom = R"(sizes N
buffer y: i64[N * 5] output
kernel draw(N) {
  buffer y: i64 written
  grid() {
    par i in 0 .. N {
      y[i * 5] = random(1)
      y[(i * 5) + 1] = random(-4, i)
      y[(i * 5) + 2] = random(12345678901, i, 1, 0 - i, 3)
      y[(i * 5) + 3] = random(7, i, i, i, i, i)
      y[(i * 5) + 4] = random(7, 1, 2, 3, 4, 5, i * 10000000000, 0 - 7)
    }
  }
}
host {
  launch draw(N)
}
)";

}  // namespace tempo::cudatest
