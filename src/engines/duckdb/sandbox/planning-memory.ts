/** Memory limit of planning, in bytes. */
export const PLANNING_BYTES = 128 * 1_048_576
/** The message for a query whose planning needs too much memory. */
export const TOO_MUCH_MEMORY = 'the query needs too much memory to plan'
