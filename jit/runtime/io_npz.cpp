#include "runtime/io_npz.hpp"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/io_npy.hpp"

namespace tempo {
namespace {

using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;
using Member = std::unique_ptr<zip_file_t, int (*)(zip_file_t*)>;

Archive openForReading(const std::string& path) {
  int code = 0;
  zip_t* z = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (!z) {
    if (code == ZIP_ER_NOENT) throw FileError(path, std::strerror(ENOENT));
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string reason = code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS ? "is not a readable npz (zip) file"
                                                                       : zip_error_strerror(&error);
    zip_error_fini(&error);
    throw FileError(path, reason);
  }
  return Archive(z, zip_discard);
}

std::string withoutExtension(const std::string& name) {
  const bool npy = name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0;
  return npy ? name.substr(0, name.size() - 4) : name;
}

std::vector<std::string> names(zip_t* z) {
  std::vector<std::string> all;
  for (zip_int64_t i = 0, n = zip_get_num_entries(z, 0); i < n; ++i) {
    if (const char* name = zip_get_name(z, i, 0)) all.push_back(withoutExtension(name));
  }
  return all;
}

std::string quotedList(const std::vector<std::string>& all) {
  std::string s;
  for (const auto& n : all) s += (s.empty() ? "`" : ", `") + n + "`";
  return s;
}

zip_uint64_t locate(zip_t* z, const std::string& path, const std::string& member) {
  const std::vector<std::string> all = names(z);
  if (all.empty()) throw FileError(path, "holds no array");
  if (member.empty()) {
    if (all.size() == 1) return 0;
    throw FileError(path, "holds several arrays (" + quotedList(all) + "); say which: " + path + ":" + all[0]);
  }
  const auto found = std::find(all.begin(), all.end(), withoutExtension(member));
  if (found != all.end()) return found - all.begin();
  const std::string near = nearestName(member, all);
  throw FileError(path, "holds no array `" + member + "`; " +
                            (near.empty() ? "it has " + quotedList(all) : "did you mean `" + near + "`?"));
}

/// Up to `limit` bytes of the member, unpacked.
std::string readMember(zip_t* z, zip_uint64_t index, const std::string& path, size_t limit) {
  zip_stat_t st;
  if (zip_stat_index(z, index, 0, &st) != 0) throw FileError(path, zip_strerror(z));
  Member file(zip_fopen_index(z, index, 0), zip_fclose);
  if (!file) throw FileError(path, zip_strerror(z));
  std::string bytes;
  char block[1 << 16];
  while (bytes.size() < limit) {
    const zip_int64_t n = zip_fread(file.get(), block, std::min(sizeof block, limit - bytes.size()));
    if (n < 0) throw FileError(path, "an array in it is damaged: " + std::string(zip_file_strerror(file.get())));
    if (n == 0) break;
    bytes.append(block, n);
  }
  return bytes;
}

}  // namespace

std::vector<std::string> npzMembers(const std::string& path) { return names(openForReading(path).get()); }

ArrayHeader readNpzHeader(const std::string& path, const std::string& member) {
  const Archive z = openForReading(path);
  const zip_uint64_t index = locate(z.get(), path, member);
  std::string head = readMember(z.get(), index, path, 1 << 17);
  return parseNpyHeader(head, path + ":" + names(z.get())[index]).array;
}

Array readNpz(const std::string& path, const std::string& member) {
  const Archive z = openForReading(path);
  const zip_uint64_t index = locate(z.get(), path, member);
  return parseNpy(readMember(z.get(), index, path, SIZE_MAX), path + ":" + names(z.get())[index]);
}

void writeNpz(const std::string& path, const std::vector<std::pair<std::string, Array>>& members) {
  std::vector<std::string> contents;
  for (const auto& [name, array] : members) {
    const Array a = npyWritable(array);
    contents.push_back(npyHeaderText(a.dtype, a.shape));
    contents.back().append(a.as<char>(), static_cast<size_t>(a.sizeBytes()));
  }
  writeAtomically(path, [&](const std::string& temporary) {
    int code = 0;
    Archive z(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code), zip_discard);
    if (!z) throw FileError(temporary, std::strerror(errno));
    for (size_t i = 0; i < members.size(); ++i) {
      zip_source_t* source = zip_source_buffer(z.get(), contents[i].data(), contents[i].size(), 0);
      const std::string entry = withoutExtension(members[i].first) + ".npy";
      const zip_int64_t index = source ? zip_file_add(z.get(), entry.c_str(), source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8) : -1;
      if (index < 0) throw FileError(temporary, zip_strerror(z.get()));
      zip_set_file_compression(z.get(), index, ZIP_CM_STORE, 0);
    }
    zip_t* raw = z.release();
    if (zip_close(raw) != 0) {
      const std::string reason = zip_strerror(raw);
      zip_discard(raw);
      throw FileError(temporary, reason);
    }
  });
}

}  // namespace tempo
