/** Text of the notebooks page. */
export const notebookStrings = {
  title: 'Notebook',
  lead: 'Your own JupyterLab in the cluster, connected to the catalog.',
  none: {
    title: 'Notebooks are not available',
    text: 'Notebooks need a Kubernetes cluster. Set KUBECONFIG for the service, or run the service in a cluster.',
  },
  forbidden: {
    title: 'Permission denied',
    text: 'A notebook runs code in the cluster, which requires the role Data engineer.',
  },
  statuses: { not_found: 'Not started', pending: 'Starting', running: 'Running', failed: 'Failed' },
  help: {
    not_found:
      'You have no running notebook. Starting takes up to a minute, or longer if the image must be downloaded.',
    pending: 'The pod is starting. This page updates automatically.',
    running: 'Runs until you stop it, or until it has been idle for too long.',
    failed: 'The pod failed to start. Remove it, then start again.',
  },
  startedAt: 'Started',
  lastActivity: 'Last activity',
  expiresAt: 'Stops automatically',
  address: 'URL',
  start: 'Start notebook',
  open: 'Open in a new tab',
  stop: 'Stop notebook',
  clear: 'Remove',
  stopDialog: {
    title: 'Stop your notebook?',
    consequences: [
      'Running cells are interrupted. Variables in memory are lost.',
      'Files are deleted with the pod, except files in the warehouse or on a persistent volume.',
    ],
  },
  stopped: 'Notebook stopped',
} as const
