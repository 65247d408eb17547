package Shop::Stock;
use strict;
use constant LIMIT => 30;
use constant {
    OPENING => 9,
    CLOSING => 17,
};

our $stock = 3;
my ($first, $second) = (1, 2);

sub open_shop {
    my ($door) = @_;
    print "open\n";
    return $door;
}

sub total {
    return $stock + $first;
}

has 'counter' => (is => 'rw');

1;
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
#
# Nothing is named here.
