// Bundles the pages for browsers, each into one script and one style sheet: the console and the local Discord.
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const emojiFont = "node_modules/@expo-google-fonts/noto-emoji/400Regular/NotoEmoji_400Regular.ttf";

/** `index.html` is the last to be put in place: isCurrent() goes by it. */
const pages = [
  {
    folder: "vm/console",
    script: "page/main.ts",
    style: "page/console.css",
    name: "console",
    sources: ["vm/console/page", "shared"],
    files: [emojiFont, "vm/console/page/icon.svg", "vm/console/page/index.html"],
  },
  {
    folder: "local-discord",
    script: "page/main.ts",
    style: "page/page.css",
    name: "page",
    sources: ["local-discord/page"],
    files: [emojiFont, "local-discord/page/icon.svg", "local-discord/page/index.html"],
  },
];

/**
 * Puts each page's files into `<target>/<its folder>/bundle`. Leaves a bundle alone that is newer than everything
 * that goes into it. Safe to run side by side.
 */
export async function bundlePages(target) {
  for (const page of pages) await bundlePage(page, join(target, page.folder, "bundle"));
}

async function bundlePage({ folder, script, style, name, sources, files }, target) {
  if (isCurrent(target, [...sources, ...files])) return;
  mkdirSync(target, { recursive: true });
  const fresh = join(target, `.new-${process.pid}`);
  await build({
    entryPoints: [script, style].map((entry) => ({ in: join(root, folder, entry), out: name })),
    outdir: fresh,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022", "safari16"],
    legalComments: "eof",
    plugins: [withoutLocales, ownAddresses],
    logLevel: "warning",
  });
  for (const file of files) copyFileSync(join(root, file), join(fresh, basename(file)));
  for (const made of [`${name}.js`, `${name}.css`, ...files.map((file) => basename(file))]) {
    renameSync(join(fresh, made), join(target, made));
  }
  rmSync(fresh, { recursive: true, force: true });
}

/** zod brings its messages in 50 languages; none of them is ever shown here. */
export const withoutLocales = {
  name: "without-locales",
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export {};",
    }));
  },
};

/** `url("/emoji.ttf")` is an address of the page's own server. */
const ownAddresses = {
  name: "own-addresses",
  setup(build) {
    build.onResolve({ filter: /^\// }, ({ path, kind }) =>
      kind === "url-token" ? { path, external: true } : undefined,
    );
  },
};

function isCurrent(target, sources) {
  const last = join(target, "index.html");
  if (!existsSync(last)) return false;
  const builtAt = statSync(last).mtimeMs;
  return [...sources, "package-lock.json", "scripts/page-bundle.mjs"]
    .flatMap((source) => filesOf(join(root, source)))
    .every((file) => statSync(file).mtimeMs < builtAt);
}

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true }).map((name) => join(path, name));
}
