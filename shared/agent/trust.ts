/** The trust question's option that lets a directory's hooks, MCP servers and settings run; any other refuses them. */
export const TRUST_OPTION = "trust";
