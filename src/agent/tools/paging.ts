import { z } from 'zod'

/** Argument of list tools: the next page. */
export const pageToken = z
  .string()
  .max(2000)
  .optional()
  .describe('next_page_token of the previous page; omit it for the first page')
