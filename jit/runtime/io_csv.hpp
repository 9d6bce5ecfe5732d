// Comma separated values: one row per line; `,` `;` or tab, whichever the first line uses; cells may be quoted ("a ""b""").
// The first line is a header if one of its cells is not a number. Every other cell is a number (`nan`, `inf`, `true` and
// `false` included); an empty or unreadable cell is an error that names line and column. Blank lines and lines that start
// with `#` are skipped.
//
// All columns give [rows, columns], one named or numbered (from 0) column gives [rows], several (`a,b`) give [rows, n].
// Values are read as f64; where a program leaves the dtype open they are f32.
#pragma once

#include <string>
#include <vector>

#include "runtime/io.hpp"

namespace tempo {

ArrayHeader readCsvHeader(const std::string& path, const std::string& columns);
Array readCsv(const std::string& path, const std::string& columns);
/// `text` instead of a file.
Array parseCsv(const std::string& text, const std::string& columns, const std::string& path);
/// Rank 0 to 2; higher ranks are refused.
void writeCsv(const std::string& path, const Array& array);

}  // namespace tempo
