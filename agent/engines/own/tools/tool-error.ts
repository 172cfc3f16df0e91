/** Tells the model in a whole sentence what it did wrong, or what stands in its way. */
export class ToolError extends Error {}
