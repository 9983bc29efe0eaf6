#pragma once
// What a file is, as E2B tells it, from the API's stat.

#include <nlohmann/json.hpp>

#include <map>
#include <string>

#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/proto/filesystem.pb.h"

namespace harena::e2b {

/// Metadata of an upload is kept in extended attributes of this prefix.
inline constexpr std::string_view kMetadataPrefix = "user.e2b.";

/// Go's text of a mode: "-rw-r--r--", "drwxr-xr-x", "Lrwxrwxrwx", "dtrwxrwxrwx". `type`: the API's word.
std::string permissions_text(const std::string& type, std::uint32_t mode);
/// "0644" and the like; 0 for what isn't octal.
std::uint32_t parse_octal(const std::string& text);
/// Any bytes: the member `key`, or `key`_b64 decoded.
std::string bytes_member(const nlohmann::json& object, const std::string& key);
filesystem::FileType file_type(const std::string& type);

/// What the stat itself says; no owner's name, link or metadata. Pure.
filesystem::EntryInfo plain_entry(const nlohmann::json& stat, const std::string& path);

/// The stat of the path itself, or of what a symlink there leads to. not_found as the API says it.
http::Task<Result<nlohmann::json>> stat_file(SandboxCall& call, std::string path, bool follow);
/// What paths are, by path, as they were found in the course of one request: the links of a folder mostly lead to the same places.
/// Null: there is nothing.
using StatCache = std::map<std::string, nlohmann::json>;

/// Where an entry's metadata is: in the stat already (a list with ?xattrs=), or to be asked for.
enum class MetadataIn { stat, file };

/// All of an entry: the names of its owner and group, where a symlink leads and what is there, metadata.
http::Task<Result<filesystem::EntryInfo>> full_entry(SandboxCall& call, nlohmann::json stat, std::string path, StatCache& known,
                                                     MetadataIn where);
http::Task<Result<filesystem::EntryInfo>> entry_at(SandboxCall& call, std::string path);
/// Of the member `xattrs` of an answer of the API. Pure.
std::map<std::string, std::string> metadata_in(const nlohmann::json& answer);
/// Metadata of a file; empty where there is none, or no such attributes at all.
http::Task<Result<std::map<std::string, std::string>>> read_metadata(SandboxCall& call, std::string path);

}  // namespace harena::e2b
