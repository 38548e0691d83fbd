/** Names of parts of an answer, for those who cannot see them. */
export const markdownStrings = {
  code: (language: string) => (language === '' ? 'Code' : `Code, ${language}`),
  table: 'Table',
} as const
