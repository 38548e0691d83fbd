/** Text of the drawing of a graph. */
export const graphStrings = {
  label: 'Graph',
  help: 'Tab moves to a node, Enter selects it, arrow keys move it, Delete removes it. You can also use the outline.',
  empty: 'No nodes yet',
  emptyHelp: 'Add a node from the palette.',
  emptyReadOnly: 'This version has no nodes.',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  fit: 'Show all',
  nodeLabel: (id: string, title: string, summary: string) => `${id}, ${title}${summary === '' ? '' : `: ${summary}`}`,
  edgeLabel: (source: string, target: string) => `From ${source} to ${target}`,
  unknownType: 'cannot run',
  source: 'Source',
  sink: 'Sink',
  by: (mode: string, key: string) => `${mode} by ${key}`,
  withMode: (title: string, mode: string) => (mode === '' ? title : `${title}: ${mode}`),
  marks: { added: 'Added', removed: 'Removed', changed: 'Changed', moved: 'Moved' },
} as const
