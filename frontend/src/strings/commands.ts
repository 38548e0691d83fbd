/** Text of commands of the quick search that no button has. */
export const commands = {
  open: (name: string) => `Open ${name}`,
  sql: 'Open in SQL',
  lineage: 'Open lineage',
  operations: 'Open operations',
  preview: (noun: string) => `preview ${noun}`,
  theme: (name: string) => `Theme: ${name}`,
  shortcuts: 'Keyboard shortcuts',
  help: 'help keys',
} as const
