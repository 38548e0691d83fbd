/** Messages of form validation. */
export const formStrings = {
  required: 'Required.',
  number: 'Enter a number.',
  wholeNumber: 'Enter a whole number.',
  atLeast: (min: string) => `Enter ${min} or more.`,
  moreThan: (min: string) => `Enter a number greater than ${min}.`,
  atMost: (max: string) => `Enter ${max} or less.`,
  tooLong: (max: string) => `Enter at most ${max} characters.`,
} as const
