import { useQuery } from '@tanstack/react-query'
import { minRoleIn } from '../../../../src/domain/environments.ts'
import { api } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import type { GraphValidation } from '../../api/types.ts'
import { CreateSink, type VersionPlace, versionPathOf } from './create-sink.tsx'

interface MissingSinkProps {
  readonly place: VersionPlace
  readonly onMade: () => void
}

/**
 * Looks whether the sink table of a saved version exists, and offers to create it. Nothing for users who may not write
 * in the environment.
 */
export function MissingSink({ place, onMade }: MissingSinkProps) {
  const { definitionId, versionId, environment } = place
  const mayCreate = useCan(minRoleIn(environment))
  const { data, refetch } = useQuery({
    queryKey: ['definitions', definitionId, 'validation', versionId, environment],
    queryFn: ({ signal }) =>
      api.post<GraphValidation>(`${versionPathOf(place)}/validate`, {}, { query: { environment }, signal }),
    enabled: mayCreate,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
  if (!data) return null
  return (
    <CreateSink
      place={place}
      answer={data}
      onMade={() => {
        void refetch()
        onMade()
      }}
    />
  )
}
