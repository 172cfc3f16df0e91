/** What a row of the relay's bench finds, and how it is judged. */
import type { LocalDiscord } from "../../local-discord/run.ts";

export interface Figure {
  row: string;
  figure: string;
  value: number;
  bar: string;
  isMet: boolean;
}

export const atMost = (row: string, figure: string, value: number, limit: number): Figure => ({
  row,
  figure,
  value,
  bar: `≤ ${limit}`,
  isMet: value <= limit,
});

export const told = (row: string, figure: string, value: number): Figure => ({
  row,
  figure,
  value,
  bar: "",
  isMet: true,
});

export const requests = (row: string, { discord }: { discord: LocalDiscord }): Figure[] => [
  atMost(row, "429 answers", discord.driver.stats.rateLimited, 0),
  atMost(row, "most requests in a second", discord.driver.stats.maxPerSecond(), 45),
];

export const equality = (row: string, different: readonly string[]): Figure => {
  for (const difference of different.slice(0, 5)) console.error(`${row}: ${difference}`);
  return atMost(row, "threads whose text differs", different.length, 0);
};
