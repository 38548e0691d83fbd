import { z } from 'zod'

/** Field of tools that list: the page after the one that was seen. */
export const pageToken = z
  .string()
  .max(2000)
  .optional()
  .describe('next_page_token of an earlier answer, to read on; leave it out for the first page')
