/** Every visible string of the notebooks page. */
export const notebookStrings = {
  title: 'Notebook',
  lead: 'A JupyterLab of your own in the cluster, with the catalog at hand.',
  none: {
    title: 'No cluster, no notebooks',
    text: 'This service is not connected to a Kubernetes cluster. Set KUBECONFIG, or run it in the cluster, to have notebooks.',
  },
  forbidden: {
    title: 'Notebooks are for engineers',
    text: 'A notebook runs code on the cluster, which needs the role Data engineer.',
  },
  statuses: { not_found: 'Not started', pending: 'Starting', running: 'Running', failed: 'Failed' },
  help: {
    not_found: 'Nothing runs for you. Starting takes up to a minute, longer when the image has to be fetched.',
    pending: 'The pod is being started. This page follows it.',
    running: 'It runs until you stop it, or until it has been idle for long.',
    failed: 'The pod did not come up. Stop it to clear it away, then start again.',
  },
  startedAt: 'Started',
  lastActivity: 'Last activity',
  expiresAt: 'Stops by itself',
  address: 'Address',
  start: 'Start notebook',
  open: 'Open in a new tab',
  stop: 'Stop notebook',
  clear: 'Clear away',
  stopDialog: {
    title: 'Stop your notebook?',
    consequences: [
      'Running cells are interrupted, and variables in memory are gone.',
      'Files that are not saved in the warehouse, or on a volume that your administrators keep, are gone with the pod.',
    ],
  },
  stopped: 'The notebook has been stopped',
} as const
