import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { SavingsReport } from '../../../api/types.ts'

/** Costs and gains of the operations from one day to another, in UTC; undefined days are those of the service. */
export const savingsQuery = ({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }) =>
  queryOptions({
    queryKey: ['operations', 'savings', from, to],
    queryFn: ({ signal }) => api.get<SavingsReport>('/api/savings', { query: { from, to }, signal }),
  })
