/** Column headers of a comparison. */
export const diff = { path: 'Path', from: 'Before', to: 'After', absent: '–' } as const
