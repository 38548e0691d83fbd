/** Text of the offer to create the missing sink table of a version. */
export const sinkTableStrings = {
  action: 'Create table',
  missing: (table: string) => `Table ${table} does not exist.`,
  title: (table: string) => `Create ${table}?`,
  consequences: ['Creates an empty, unpartitioned table with these columns. Other users can see it immediately.'],
  saveFirst: 'Save the graph first to create the table from here.',
  othersFirst: 'Resolve the other problems first. Then you can create the table here.',
  done: (table: string) => `${table} created`,
} as const
