export const metadata = { title: 'Ask our agent' };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body style={{ fontFamily: 'system-ui', margin: '3rem auto', maxWidth: '40rem' }}>{children}</body>
    </html>
  );
}
