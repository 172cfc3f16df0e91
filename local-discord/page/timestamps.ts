/** `<t:…>` marks as a reader sees them; "3 minutes ago" goes on counting while it is on the screen. */
import { el } from "./dom.ts";

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function relativeTime(ms: number, now: number): string {
  const seconds = Math.round((ms - now) / 1000);
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relativeFormat.format(Math.trunc(seconds / size), unit);
  }
  return relativeFormat.format(seconds, "second");
}

export function timestamp(seconds: number, style: string): HTMLElement {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return el("span", { class: "md-time" }, "Invalid date");
  const isRelative = style === "R";
  const text = isRelative ? relativeTime(date.getTime(), Date.now()) : formatTime(date, style);
  return el(
    "time",
    {
      class: "md-time",
      datetime: date.toISOString(),
      title: date.toLocaleString(),
      "data-relative": isRelative ? String(date.getTime()) : undefined,
    },
    text,
  );
}

/** Brings every relative time on the page up to date once a second. */
export function startTicking(): void {
  setInterval(() => {
    for (const element of document.querySelectorAll<HTMLElement>("time[data-relative]")) {
      const text = relativeTime(Number(element.dataset["relative"]), Date.now());
      if (element.textContent !== text) element.textContent = text;
    }
  }, 1000);
}

function formatTime(date: Date, style: string): string {
  switch (style) {
    case "t":
      return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    case "T":
      return date.toLocaleTimeString();
    case "d":
      return date.toLocaleDateString();
    case "D":
      return date.toLocaleDateString([], { dateStyle: "long" });
    case "F":
      return date.toLocaleString([], { dateStyle: "full", timeStyle: "short" });
    default:
      return date.toLocaleString([], { dateStyle: "long", timeStyle: "short" });
  }
}
