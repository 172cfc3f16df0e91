import { expect, test } from "vitest";
import { namesIn } from "./other-names.ts";

const line = (device: string, inner: string, path: string) =>
  `42 27 ${device} ${inner} ${path} rw,relatime shared:1 - ext4 /dev/vda rw`;

const namesOf = (path: string, ...lines: string[]) =>
  namesIn(lines.join("\n"), path).map(({ name, of }) => (of === path ? name : `${name} = ${of}`));

test.each([
  ["none", [line("8:1", "/", "/")], []],
  ["the folder itself", [line("8:1", "/", "/"), line("8:1", "/var/state", "/srv/b")], ["/srv/b"]],
  ["one above it", [line("8:1", "/", "/"), line("8:1", "/var", "/srv/b")], ["/srv/b/state"]],
  ["all of the disk", [line("8:1", "/", "/"), line("8:1", "/", "/host")], ["/host/var/state"]],
  [
    "a part of it",
    [line("8:1", "/", "/"), line("8:1", "/var/state/logs", "/srv/b")],
    ["/srv/b = /var/state/logs"],
  ],
  [
    "the disk that it is bound from",
    [line("8:1", "/", "/"), line("8:2", "/", "/mnt/disk"), line("8:2", "/tm", "/var/state")],
    ["/mnt/disk/tm"],
  ],
  ["a name with blanks", [line("8:1", "/", "/"), line("8:1", "/var", "/srv/a\\040b")], ["/srv/a b/state"]],
  [
    "of a disk that is mounted in it",
    [line("8:1", "/", "/"), line("8:2", "/", "/var/state/worktrees"), line("8:2", "/", "/mnt/disk")],
    ["/mnt/disk = /var/state/worktrees"],
  ],
  ["another disk", [line("8:1", "/", "/"), line("8:2", "/var/state", "/srv/b")], []],
  ["a neighbour", [line("8:1", "/", "/"), line("8:1", "/var/state2", "/srv/b")], []],
  ["in the folder itself", [line("8:1", "/", "/"), line("8:1", "/var", "/var/state/loop")], []],
  [
    "under another mount",
    [line("8:1", "/", "/"), line("8:2", "/a", "/var"), line("8:1", "/var/state", "/srv/b")],
    [],
  ],
  ["twice", [line("8:1", "/", "/"), line("8:1", "/var", "/b"), line("8:1", "/var", "/b")], ["/b/state"]],
  ["no mounts", ["", "nonsense"], []],
])("names of a folder: %s", (_name, lines, expected) => {
  expect(namesOf("/var/state", ...lines)).toEqual(expected);
});
