// Plain text: the bytes of the file as u8[n].
#pragma once

#include <string>

#include "runtime/io.hpp"

namespace tempo {

ArrayHeader readTextHeader(const std::string& path);
Array readText(const std::string& path);
/// u8 arrays of rank 1 are written as bytes; everything else as numbers, one line per row.
void writeText(const std::string& path, const Array& array);

}  // namespace tempo
