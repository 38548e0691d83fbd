/** Text of the help for keyboard shortcuts, and names of the places that have shortcuts. */
export const shortcuts = {
  title: 'Keyboard shortcuts',
  or: 'or',
  keys: {
    ArrowUp: '↑',
    ArrowDown: '↓',
    ArrowLeft: '←',
    ArrowRight: '→',
    PageUp: 'Page Up',
    PageDown: 'Page Down',
    shift: 'Shift',
  } as Readonly<Record<string, string>>,
  mod: 'Ctrl',
  modOfApple: '⌘',
  everywhere: {
    place: 'Everywhere',
    search: 'Search, or run a command',
    help: 'Show keyboard shortcuts',
  },
  lists: {
    place: 'In lists',
    step: 'Next or previous row',
    page: 'One page down or up',
    ends: 'First or last row',
    open: 'Open the row',
  },
  query: {
    place: 'In the SQL editor',
    run: 'Run the query',
    complete: 'Complete a table or column',
    leave: 'Leave the editor',
  },
  comment: { place: 'In a comment', send: 'Send the comment' },
  agent: { place: 'In a question to the agent', send: 'Send the question', stop: 'Stop the answer' },
  designer: { place: 'In the designer', undo: 'Undo', redo: 'Redo' },
} as const
