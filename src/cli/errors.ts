/** A command line that is not understood; the process ends with 2. */
export class UsageError extends Error {}

/** The work was not done; the process ends with 1. The message is one line. */
export class CommandError extends Error {}
