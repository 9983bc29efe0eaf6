#!/usr/bin/env python3
"""Each rule of check_layers.py, broken in a small house of its own, is noticed; a good house passes."""
import os
import tempfile
import unittest

import check_layers

GOOD = {
    "sdk/base/result.hpp": "#pragma once\n#include <string>\n",
    "sdk/base/CMakeLists.txt": "harena_room(base SOURCES result.cpp)\n",
    "core/model/state.hpp": '#include "sdk/base/result.hpp"\n',
    "core/model/CMakeLists.txt": "harena_room(model SOURCES state.cpp DEPS harena_base)\n",
    "core/contracts/edge.hpp": '#include "core/model/state.hpp"\n',
    "core/contracts/CMakeLists.txt": "harena_header_room(contracts DEPS harena_model)\n",
    "core/store/store.cpp": '#include "core/contracts/edge.hpp"\n#include "sdk/base/result.hpp"\n',
    "core/store/store_test.cpp": '#include "core/store/testing/fake.hpp"\n#include <gtest/gtest.h>\n',
    "core/store/testing/fake.hpp": '#include "core/contracts/edge.hpp"\n',
    "core/store/CMakeLists.txt": "harena_room(store SOURCES store.cpp DEPS harena_contracts)\n"
                                 "harena_test(store_test SOURCES store_test.cpp DEPS harena_store)\n",
    "plugins/fake/fake.cpp": '#include "sdk/base/result.hpp"\n#include "plugins/fake/own.hpp"\n',
    "plugins/fake/CMakeLists.txt": "harena_add_plugin(fake ID x CONTRACTS c SOURCES fake.cpp DEPS harena_base)\n",
}


class Layers(unittest.TestCase):
    def problems(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **changes}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text.replace("{ROOT}", root))
            return check_layers.check(root)

    def assert_one(self, changes, *parts):
        found = self.problems(changes)
        self.assertEqual(1, len(found), found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_good_house_passes(self):
        self.assertEqual([], self.problems({}))

    def test_upwards(self):
        found = self.problems({"core/model/state.cpp": '#include "core/contracts/edge.hpp"\n'})
        self.assertIn("core/model may use sdk/base, not core/contracts", found[0])

    def test_plugin_into_the_core_or_another_plugin(self):
        for header in ("core/model/state.hpp", "plugins/other/own.hpp"):
            found = self.problems({"plugins/fake/fake.cpp": f'#include "{header}"\n'})
            self.assertIn("plugins/fake may use", found[0])

    def test_only_pluginhost_sees_the_abi(self):
        self.assert_one({"sdk/abi/types.h": "", "core/store/store.cpp": '#include "sdk/abi/types.h"\n'}, "not sdk/abi")

    def test_nobody_includes_a_role(self):
        self.assert_one({"core/edge/role.hpp": "", "core/store/store.cpp": '#include "core/edge/role.hpp"\n'},
                        "not core/edge")

    def test_outside_libraries(self):
        for header in ("sqlite3.h", "openssl/evp.h", "boost/dll/shared_library.hpp", "Poco/URI.h", "spdlog/spdlog.h"):
            self.assert_one({"core/store/store.cpp": f"#include <{header}>\n"}, header, "may see it")

    def test_dlopen_by_its_header_of_all(self):
        self.assert_one({"core/store/store.cpp": "#include <dlfcn.h>\nvoid* f() { return dlopen (0, 0); }\n"}, "dlopen")
        self.assertEqual([], self.problems({"core/store/store.cpp": "// dlopen() is elsewhere\n"}))

    def test_pure_rooms_do_no_io(self):
        self.assert_one({"core/model/state.hpp": "#include <fstream>\n"}, "core/model does no I/O")
        self.assertEqual([], self.problems({"core/model/state_test.cpp": "#include <fstream>\n"}))

    def test_base_sees_the_standard_library_alone(self):
        self.assert_one({"sdk/base/result.hpp": "#include <nlohmann/json.hpp>\n"}, "standard library alone")

    def test_what_is_for_tests(self):
        self.assert_one({"core/store/store.cpp": '#include "core/store/testing/fake.hpp"\n'}, "only tests may")
        self.assert_one({"core/store/store.cpp": "#include <gtest/gtest.h>\n"}, "only tests may")

    def test_unrooted_include(self):
        self.assert_one({"core/store/store.cpp": '#include "store.hpp"\n'}, "rooted at the repository")

    def test_a_room_without_a_rule(self):
        self.assert_one({"core/cellar/x.cpp": ""}, "core/cellar", "has no line")

    def test_a_wrong_link(self):
        self.assert_one({"plugins/fake/CMakeLists.txt":
                         "harena_add_plugin(fake ID x CONTRACTS c SOURCES fake.cpp DEPS harena_base harena_store)\n"},
                        "links harena_plugin_fake with harena_store", "plugins/fake may not use core/store")

    def test_an_include_without_its_link(self):
        found = self.problems({"core/store/CMakeLists.txt": "harena_room(store SOURCES store.cpp DEPS harena_base)\n"})
        self.assertIn("which the CMake target of core/store doesn't link", found[0])

    def test_long_files_need_a_reason(self):
        long = {"core/store/store.hpp": "\n" * 501}
        self.assert_one(long, "has 501 lines")
        self.assertEqual([], self.problems({**long, "core/store/README.md": "`store.hpp` is long because ...\n"}))
        self.assertEqual([], self.problems({"core/store/store.hpp": "\n" * 500}))

    def test_paths_of_this_machine(self):
        self.assert_one({"docs/x.md": "see {ROOT}/core\n"}, "docs/x.md", "path of this machine")


if __name__ == "__main__":
    unittest.main()
