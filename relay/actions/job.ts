/** Creates the job that `/job add` has shown, or drops it: until then it is there, paused. */
import { nextText } from "../content/lists/jobs.ts";
import { escapeMarkdown } from "../content/texts.ts";
import { action } from "./frame/action.ts";
import { jobName, oneOf } from "./frame/parts.ts";

export const job = action({
  name: "job",
  parts: { what: oneOf(["create", "drop"]), name: jobName },
  right: "jobs",
  first: "update",
  run: async ({ what, name }, press, { vm }) => {
    const shown = escapeMarkdown(name);
    if (what === "drop") {
      await vm.jobs.remove(name);
      await press.show({ content: `The job **${shown}** was not created.`, buttons: [] });
      return;
    }
    const made = await vm.jobs.resume(name);
    const next = made.why === null ? `next ${nextText(made)}` : made.why;
    await press.show({ content: `⏰ The job **${shown}** is created: ${next}.`, buttons: [] });
  },
});
