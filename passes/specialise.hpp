// Fixing a size to this run's value, for code that needs it as a number. The size is marked, so the driver compiles again
// for another value and `tempo plan` can say so.
#pragma once

#include "sdg/graph.hpp"

namespace tempo {

/// Replaces `size` by `value` everywhere in the graph and marks it specialised. Sizes derived from it are specialised too.
void specialise(Graph& g, Sym size, int64_t value);

}  // namespace tempo
