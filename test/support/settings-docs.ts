/** `docs/configuration.md` and `.env.example`, made from the schemas of the settings. */
import * as z from "zod";
import { relaySettings } from "../../relay/config.ts";
import { vmSettings } from "../../vm/config.ts";

interface Setting {
  name: string;
  meaning: string;
  /** Undefined: it has none, and may be left out unless it is required. */
  fallback: string | undefined;
  isRequired: boolean;
}

interface Group {
  title: string;
  /** Of `.env.example`. */
  head: string;
  settings: Setting[];
}

const both = Object.keys(vmSettings.shape).filter((name) => name in relaySettings.shape);
const vm = settingsOf(vmSettings);

const GROUPS: Group[] = [
  {
    title: "The sidecar",
    head: "sidecar: the program on the VM",
    settings: vm.filter(({ name }) => !both.includes(name)),
  },
  { title: "Sidecar and relay", head: "both", settings: vm.filter(({ name }) => both.includes(name)) },
  {
    title: "The relay",
    head: "relay: the Discord bot",
    settings: settingsOf(relaySettings).filter(({ name }) => !both.includes(name)),
  },
  {
    title: "`scripts/run` without `DISCORD_TOKEN`",
    head: "scripts/run without DISCORD_TOKEN",
    settings: [
      {
        name: "LOCAL_DISCORD_PORT",
        meaning: "The port of the local Discord and its page.",
        fallback: "3002",
        isRequired: false,
      },
    ],
  },
];

/** @throws Error if a setting says nothing of itself. */
function settingsOf(schema: z.ZodObject): Setting[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return Object.entries(schema.shape).map(([name, { description }]) => {
    const { default: fallback } = properties[name] as { default?: unknown };
    const meaning =
      description ?? (both.includes(name) ? vmSettings.shape[name as "LOG_LEVEL"].description : "");
    if (!meaning) throw new Error(`${name} has no description`);
    return {
      name,
      meaning,
      fallback: fallback === undefined || fallback === "" ? undefined : String(fallback),
      isRequired: required.includes(name) && fallback === undefined,
    };
  });
}

export function configurationDocs(): string {
  const parts = [
    "# Settings",
    "",
    "<!-- Made from vm/config.ts and relay/config.ts by `npm run docs`: change them there. -->",
    "",
    "Settings come from the environment, then from an `.env` in the directory where a program is started; what the environment sets wins. An empty value counts as not set. A bad value is named in one line, all at once, and the program exits with 2. [.env.example](../.env.example) has a line for each.",
  ];
  for (const { title, settings } of GROUPS) {
    parts.push("", `## ${title}`, "", "| variable | default | meaning |", "|---|---|---|");
    for (const { name, meaning, fallback, isRequired } of settings) {
      const value = fallback === undefined ? (isRequired ? "required" : "none") : `\`${fallback}\``;
      parts.push(`| \`${name}\` | ${value} | ${meaning} |`);
    }
  }
  return `${parts.join("\n")}\n`;
}

const WIDTH = 118;

export function envExample(): string {
  const parts = wrapped(
    "Every setting of threadmux. Copy this to .env and take the # off what you want to change; each line shows the default, or, where there is none, nothing. What the environment sets wins over .env. An empty value counts as not set. scripts/run, npm run vm and npm run relay read .env from the directory they are started in.",
  );
  parts.push("# Made from vm/config.ts and relay/config.ts by npm run docs: change them there.");
  for (const { head, settings } of GROUPS) {
    parts.push("", `# ---- ${head} `.padEnd(WIDTH, "-"));
    for (const { name, meaning, fallback = "", isRequired } of settings) {
      const plain = meaning.replace(/\[([^\]]+)\]\([^)]*\)/g, "docs/$1").replace(/`/g, "");
      parts.push("", ...wrapped(isRequired ? `${plain} Required.` : plain), `# ${name}=${fallback}`);
    }
  }
  return `${parts.join("\n")}\n`;
}

/** Lines of a comment, broken between words. */
function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = "#";
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = "#";
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
