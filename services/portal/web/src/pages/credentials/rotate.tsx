import { FormDialog } from '../../ui/dialog.tsx';
import { SelectField, useApiForm } from '../../ui/form.tsx';

const overlaps = [
  { seconds: 0, label: 'Not at all: it is refused at once' },
  { seconds: 3_600, label: 'One hour' },
  { seconds: 86_400, label: 'One day' },
  { seconds: 604_800, label: 'One week' },
];

interface RotateProps {
  title: string;
  subject: string;
  onRotate: (previousValidSeconds: number, key: string) => Promise<void>;
  onClose: () => void;
}

/** Replaces a secret, and asks how long the old one stays valid. */
export function RotateDialog({ title, subject, onRotate, onClose }: RotateProps) {
  const form = useApiForm({ seconds: '86400' }, ({ seconds }, key) => onRotate(Number(seconds), key));
  return (
    <FormDialog
      title={title}
      description={`A new secret is made for ${subject}. Programs have to change to it while the old one is still valid.`}
      onClose={onClose}
      form={form}
      action="Replace"
    >
      <SelectField label="The old one stays valid for" {...form.register('seconds')}>
        {overlaps.map(({ seconds, label }) => (
          <option key={seconds} value={seconds}>
            {label}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}
