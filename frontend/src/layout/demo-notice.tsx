import { Alert } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { serviceHealthQuery } from '../api/service-health.ts'
import { shell } from '../strings/everywhere/shell.ts'

const WHILE_CREATING_MS = 1000

/** Says that the demo tables are being created; reloads everything once they are. */
export function DemoNotice() {
  const client = useQueryClient()
  const { data } = useQuery({
    ...serviceHealthQuery,
    refetchInterval: ({ state }) => (state.data?.demo === 'creating' ? WHILE_CREATING_MS : false),
  })
  const isCreating = data?.demo === 'creating'
  const wasCreating = useRef(false)
  useEffect(() => {
    if (wasCreating.current && !isCreating) void client.invalidateQueries()
    wasCreating.current = isCreating
  }, [client, isCreating])
  if (!isCreating) return null
  return (
    <Alert role="status" mb="md">
      {shell.creatingDemo}
    </Alert>
  )
}
