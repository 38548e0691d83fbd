/** Text of the offer to create the missing tables of a version. */
export const sinkTableStrings = {
  action: (count: number) => (count === 1 ? 'Create table' : 'Create tables'),
  missing: (tables: readonly string[]) =>
    tables.length === 1 ? `Table ${tables[0]} does not exist.` : `The tables ${tables.join(', ')} do not exist.`,
  title: (tables: readonly string[]) => `Create ${tables.join(', ')}?`,
  consequences: ['Creates empty, unpartitioned tables with these columns. Other users can see them immediately.'],
  saveFirst: 'Save the graph first to create the table from here.',
  othersFirst: 'Resolve the other problems first. Then you can create the table here.',
  done: (tables: readonly string[]) => `${tables.join(', ')} created`,
} as const
