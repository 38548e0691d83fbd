/** The views of a pipeline, in the order of their tabs; the first one is not in the address. */
export const PIPELINE_TABS = ['charts', 'history', 'progress', 'settings'] as const
