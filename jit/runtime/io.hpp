// Arrays from files and into files. The format follows the file's name: .npy .npz .csv .tsv .txt; anything else is
// recognised by its first bytes (npy, zip) and is plain text if it is neither.
//
// Every function that touches a file throws FileError: the path, and a reason a user can act on. Writers are atomic: the
// file appears complete under its name or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "array.hpp"

namespace tempo {

struct FileError : std::runtime_error {
  FileError(std::string path, std::string reason);
  std::string path, reason;
};

/// What a file holds, known without reading its values.
struct ArrayHeader {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};

/// A file, or a part of one: `member` is an array of an npz or the column (or columns, `a,b`) of a csv.
struct FileRef {
  std::string path, member;
};

enum class FileFormat : uint8_t { Npy, Npz, Csv, Text };

/// `x.npy`, `file.npz:member`, `f.csv:column`. A colon counts only after one of the extensions that have members.
FileRef parseFileRef(const std::string& spec);
FileFormat formatOf(const std::string& path);

ArrayHeader readHeader(const FileRef& file);
Array readArray(const FileRef& file);
/// Writes one array; the extension must be .npy, .npz (one member), .csv or .txt. Returns a note for the user, "" if none.
std::string writeArray(const FileRef& file, const Array& array);

/// The array as `to`: floats to any float, integers to floats and to integers that hold every value, bool to numbers.
/// Returns false with a reason when a value would be lost.
bool convertArray(const Array& from, DType to, Array* out, std::string* reason);

/// All bytes of a file.
std::string readWholeFile(const std::string& path);
/// Calls `fill` with the path of a new file in the same folder, flushes it to disk, then renames it to `path`.
void writeAtomically(const std::string& path, const std::function<void(const std::string& temporary)>& fill);
void writeFileAtomically(const std::string& path, std::string_view bytes);

/// An uninitialised array, 64-byte aligned.
Array allocateArray(DType dtype, std::vector<int64_t> shape);
/// The name among `names` a misspelt `name` most likely means, "" if none is near.
std::string nearestName(const std::string& name, const std::vector<std::string>& names);

}  // namespace tempo
