/** Text of lists whose rows can be selected, and of changes to all selected rows. */
export const selection = {
  column: 'Selection',
  select: (name: string) => `Select ${name}`,
  full: (most: string) => `At most ${most} rows can be selected.`,
  selected: (count: string) => `${count} selected`,
  selectAll: (count: string) => `Select all ${count}`,
  selectFirst: (count: string) => `Select the first ${count}`,
  clear: 'Clear selection',
  name: 'Name',
  plan: 'Plan',
  result: 'Result',
  change: 'Will be changed',
  waiting: 'Waiting …',
  done: 'Done',
  nothing: 'Nothing to do for the selected rows.',
  ended: (done: string, all: string) => `${done} of ${all} changed.`,
} as const
