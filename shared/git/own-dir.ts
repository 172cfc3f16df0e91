/**
 * A git directory of our own, for a repository that anybody may have made: nothing that the repository names is run,
 * no filter, monitor, hook, pager, alias or remote helper, no submodule's either.
 *
 * That holds because git never reads the repository's settings. Our directory has settings of our own, and links to
 * the parts of the repository that are data: index, objects and refs. Without settings, attributes name filters that
 * do not exist. The person's and the machine's settings are left out too: a filter that they define (such as
 * git-lfs) would read the repository's settings by itself.
 */
import { lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Repository, readPointer } from "./repository.ts";

/** An index of half a million files. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;
const MAX_CONFIG_BYTES = 64 * 1024;
/** What git reads whole at each call, and people write. */
const MAX_INFO_BYTES = 1024 * 1024;
const INFO_FILES = ["exclude", "attributes"];

/**
 * With the repository's index, to read it.
 * @param dir is empty.
 * @throws Error if something of it is no file of git's.
 */
export async function linkRepository({ gitDir, commonDir, head }: Repository, dir: string): Promise<void> {
  await checkIndex(gitDir);
  const links = new Map(["objects", "refs", "packed-refs"].map((name) => [name, join(commonDir, name)]));
  await mkdir(join(dir, "info"));
  for (const name of INFO_FILES) {
    const file = join(commonDir, "info", name);
    if (await isSmallFile(file)) links.set(join("info", name), file);
  }
  for (const name of await readdir(gitDir)) {
    // A split index is in two files.
    if (name === "index" || /^sharedindex\.[0-9a-f]+$/.test(name)) links.set(name, join(gitDir, name));
  }
  await Promise.all([
    writeFile(join(dir, "HEAD"), `${head}\n`),
    writeFile(join(dir, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    ...[...links].map(([name, target]) => symlink(target, join(dir, name))),
  ]);
}

/** @throws Error if what is there is no index of git's. */
export async function checkIndex(gitDir: string): Promise<void> {
  const index = await stat(join(gitDir, "index")).catch(() => undefined); // nothing was ever added
  if (index && (!index.isFile() || index.size > MAX_INDEX_BYTES)) throw new Error("no index of git's");
}

/** Files go in and come out byte by byte, whatever the repository's attributes say of line ends and filters. */
const RAW_ATTRIBUTES = "* -text -ident -filter !working-tree-encoding !diff\n";
/** Names that only other systems forbid are files here. A state is on the disk before a turn goes on. */
const RAW_CONFIG = `[core]
	bare = false
	autocrlf = false
	fileMode = true
	symlinks = true
	protectNTFS = false
	protectHFS = false
	logAllRefUpdates = false
	fsyncMethod = batch
	looseCompression = 1
[gc]
	auto = 0
`;

/**
 * With an index of its own, kept over calls, to keep states of files in.
 * @throws Error if the repository can't hold them.
 */
export async function makeOwnDir({ gitDir, commonDir }: Repository, dir: string): Promise<void> {
  // The maker of the repository must not have objects and refs written elsewhere.
  for (const name of ["objects", "refs", "refs/threadmux"]) {
    const found = await lstat(join(commonDir, name)).catch(() => undefined);
    if (found ? !found.isDirectory() : name === "objects")
      throw new Error(`${name} of the repository is not a directory`);
  }
  const source = `${gitDir}\n${commonDir}\n`;
  const known = await readFile(join(dir, "source"), "utf8").catch(() => "");
  if (known === source) return rm(join(dir, "index.lock"), { force: true }); // a git that was killed left it
  await rm(dir, { recursive: true, force: true });
  await mkdir(join(dir, "info"), { recursive: true, mode: 0o700 });
  const config = await readPointer(join(commonDir, "config"), MAX_CONFIG_BYTES).catch(() => "");
  const exclude = join(commonDir, "info", "exclude");
  const isSha256 = /^[ \t]*objectformat\s*=\s*"?sha256/im.test(config);
  await Promise.all([
    writeFile(join(dir, "HEAD"), "ref: refs/heads/none\n"),
    writeFile(join(dir, "config"), RAW_CONFIG + (isSha256 ? SHA256_CONFIG : SHA1_CONFIG)),
    writeFile(join(dir, "info", "attributes"), RAW_ATTRIBUTES),
    ...((await isSmallFile(exclude)) ? [symlink(exclude, join(dir, "info", "exclude"))] : []),
    ...["objects", "refs", "packed-refs"].map((name) => symlink(join(commonDir, name), join(dir, name))),
  ]);
  await writeFile(join(dir, "source"), source);
}

/** A FIFO would hold git for ever. */
async function isSmallFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && found.size <= MAX_INFO_BYTES;
}

const SHA1_CONFIG = "[core]\n\trepositoryformatversion = 0\n";
const SHA256_CONFIG = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n";
