// The .npz format: a zip of .npy files. A member's name is given without `.npy`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/io.hpp"

namespace tempo {

std::vector<std::string> npzMembers(const std::string& path);
/// `member` may be empty if the file holds one array.
ArrayHeader readNpzHeader(const std::string& path, const std::string& member);
Array readNpz(const std::string& path, const std::string& member);
void writeNpz(const std::string& path, const std::vector<std::pair<std::string, Array>>& members);

}  // namespace tempo
