/** Words of a comparison. */
export const diff = { path: 'Where', from: 'Was', to: 'Is', absent: '–' } as const
