// container_floor ROOTFS FOLDER: one bare container (bare_floor.hpp) for each line of stdin; answers its status as a line.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "plugins/container/tests/bare_floor.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("container_floor ROOTFS FOLDER\n", stderr), 2;
  const std::string folder = std::string(argv[2]) + "/floor";
  ::mkdir(folder.c_str(), 0755);
  ::mkdir((folder + "/root").c_str(), 0755);
  if (::symlink(argv[1], (folder + "/lower").c_str()) != 0) return std::perror("symlink"), 1;
  for (std::string line; std::getline(std::cin, line);) std::cout << harena::container::testing::bare_floor(folder) << std::endl;
  return 0;
}
