/**
 * Creates the job that `/job add` has shown, or drops it: until then it is there, paused. And what is answered to the
 * question whether a job is still wanted.
 */
import { nextText } from "../content/lists/jobs.ts";
import { escapeMarkdown } from "../content/texts.ts";
import { action } from "./frame/action.ts";
import { jobName, oneOf } from "./frame/parts.ts";

export const job = action({
  name: "job",
  parts: { what: oneOf(["create", "drop", "keep", "pause"]), name: jobName },
  right: "jobs",
  first: "update",
  run: async ({ what, name }, press, { vm }) => {
    const shown = escapeMarkdown(name);
    if (what === "drop") {
      await vm.jobs.remove(name);
      await press.show({ content: `The job **${shown}** was not created.`, buttons: [] });
      return;
    }
    if (what === "pause") {
      await vm.jobs.pause(name);
      await press.show({ content: `⏸ The job **${shown}** is paused.`, buttons: [] });
      return;
    }
    const made = await vm.jobs.resume(name);
    if (what === "keep") {
      await press.show({ content: `⏰ The job **${shown}** goes on: next ${nextText(made)}.`, buttons: [] });
      return;
    }
    const next = made.why === null ? `next ${nextText(made)}` : made.why;
    await press.show({ content: `⏰ The job **${shown}** is created: ${next}.`, buttons: [] });
  },
});
