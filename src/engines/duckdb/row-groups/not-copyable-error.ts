/** Row groups of a file cannot be copied, or not without a guess; its rows can still be rewritten. */
export class NotCopyableError extends Error {}
