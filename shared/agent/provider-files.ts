/**
 * The files of a person's own providers, in the state folder. The runner reads them, because the engine's program does
 * not see that folder; the sidecar reads the names of their keys.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { errorText } from "../errors.ts";
import { readRegular } from "../regular-file.ts";

const FOLDER = "providers";
const MAX_FILES = 50;
const MAX_BYTES = 64 * 1024;
const NAME = /^([a-z0-9][a-z0-9-]{0,63})\.json$/;

export const providerFileSchema = z.object({
  /** The provider's. */
  name: z.string(),
  /** As people are told where it is. */
  path: z.string(),
  text: z.string().optional(),
  /** It could not be read. */
  problem: z.string().optional(),
});
export type ProviderFile = z.infer<typeof providerFileSchema>;

/** By their names. @param stateDir undefined if nobody says where it is */
export function readProviderFiles(stateDir: string | undefined): ProviderFile[] {
  if (stateDir === undefined) return [];
  const folder = join(stateDir, FOLDER);
  return namesIn(folder)
    .sort()
    .slice(0, MAX_FILES)
    .map((file) => {
      const [, name = ""] = NAME.exec(file) ?? [];
      const path = `STATE_DIR/${FOLDER}/${file}`;
      try {
        return { name, path, text: readRegular(join(folder, file), MAX_BYTES).toString("utf8") };
      } catch (error) {
        return { name, path, problem: errorText(error) };
      }
    });
}

/**
 * Finds the variables by which a person's own providers are set up, as far as their files can be read. Whether such a
 * file is whole is told in the thread that uses it.
 */
export function findProviderKeys(stateDir: string): string[] {
  return readProviderFiles(stateDir).flatMap(({ text = "" }) => {
    const { data } = keysSchema.safeParse(parseJson(text));
    return data ? [data.key, data.address] : [];
  });
}

const keysSchema = z.looseObject({ key: z.string(), address: z.string() });

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // its thread says so
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => NAME.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
